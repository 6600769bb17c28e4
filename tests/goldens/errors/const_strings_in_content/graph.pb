
3
kConst*
dtype0*
valueB"abc

2
kConst*
dtype0*
valueB"ab

outIdentityk*
T0


kConst*
dtype0

/
inPlaceholder*
dtype0*
shape:
1
halfConst*
d
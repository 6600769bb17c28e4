

x0Placeholder*
dtype0
O
callStatefulPartitionedCallx0*
Tin
2*
Tout
2
*
fR
Bodya
_
 
Body
x0
r0
ˆ¢done
opEmptyx0*
dtype0
"
r0op:output:02

doneop"¿Á¸Žb52pEë

-
x0Placeholder*
dtype0*
shape:
Q
callStatefulPartitionedCallx0:0*
Tin
2*
Tout
2*
fR
Bodyï
ì
 
Body
x0
r:ˆ¢done<
badBitcastfuzz_const_2_2:output:0*
T0*

type0^
fuzz_const_2_2Const*
dtype0*8
value/B-
x0Placeholder*
dtype0*
shape:"
r0bad:output:02
donefuzz_const_2_2"Ú
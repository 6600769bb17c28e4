ö
¨~
C
Placeholder
output"dtype"
dtypetype"
shapeshape:
7
Square
x"T
y"T"
Ttype:
2	"serve*2.19.12v2.19.0-10-gf4247ebb6f9¡
\
xPlaceholder*#
_output_shapes
:ÿÿÿÿÿÿÿÿÿ*
dtype0*
shape:ÿÿÿÿÿÿÿÿÿ
<
ySquarex*
T0*#
_output_shapes
:ÿÿÿÿÿÿÿÿÿ"Ñ*^
goodV

x
x:0ÿÿÿÿÿÿÿÿÿ
y
y:0ÿÿÿÿÿÿÿÿÿtensorflow/serving/predict*d
missingY

x
gone:0ÿÿÿÿÿÿÿÿÿ
y
y:0ÿÿÿÿÿÿÿÿÿtensorflow/serving/predict*_
wrongV

x
x:0ÿÿÿÿÿÿÿÿÿ
y
y:0ÿÿÿÿÿÿÿÿÿtensorflow/serving/predict
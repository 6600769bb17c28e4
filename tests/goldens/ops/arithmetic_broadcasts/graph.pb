
,
xPlaceholder*
dtype0*
shape:
,
yPlaceholder*
dtype0*
shape:
 
body/addAddV2xy*
T0

body/subSubxy*
T0

body/mulMulxy*
T0
&
body/truedivRealDivxy*
T0
&
body/MaximumMaximumxy*
T0

body/AbsAbsx*
T0
%
body/PowPowbody/Absy*
T0
:
body/SquaredDifferenceSquaredDifferencexy*
T0
"
sumIdentitybody/add*
T0
)

differenceIdentitybody/sub*
T0
&
productIdentitybody/mul*
T0
+
quotientIdentitybody/truediv*
T0
*
largestIdentitybody/Maximum*
T0
$
powerIdentitybody/Pow*
T0
4
squaredIdentitybody/SquaredDifference*
T0"Ñ
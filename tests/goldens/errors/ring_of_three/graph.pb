

aReluc*
T0

bRelua*
T0

cRelub*
T0


nNoOp*	
_xÿ

	
aNoOp
5
bNoOp^x0^x1^x2^x3^x4^x5^x6^x7^a
"""Words and rules that everything else agrees on; needs `lanes` and the standard library alone."""

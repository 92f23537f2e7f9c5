//! Policy books: what is read, refused and said in words.

"""Where the bytes of logs come from: files, object stores, containers, databases, lakes, ranges of a long file."""

"""Small programs that run inside the sandbox: JSON on stdin, files in and out, JSON on stdout."""

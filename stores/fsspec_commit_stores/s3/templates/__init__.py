"""Frequent requests by template: botocore makes two of a shape, and the others are made like them.

botocore takes most of a millisecond to make and sign a request of a few hundred bytes. The requests
that are sent once a file differ in a key, an upload, a part, an etag, a checksum and a body, and in
nothing else. So for each *shape* of a request (what is asked, which of these it has, and all other
parameters with their values) botocore makes two, of which nothing is sent (`rehearsals`). The first
has marks for values: a template is read from it (`learning`). For the second, of awkward values,
the template must give the very same URL, headers, body and signature. If it does not, or if there
is any doubt, botocore makes every request of the shape.

`calls` decides which way a request goes. An answer that is plainly the success that was asked for
is read here (`answers`), and all others by botocore.
"""

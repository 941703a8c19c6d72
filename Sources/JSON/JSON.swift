/// The module that JSON was in. It is a part of `Records` now; programs that import it find it there.
@_exported public import Records

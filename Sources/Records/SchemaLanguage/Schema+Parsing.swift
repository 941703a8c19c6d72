extension Schema {
    /// Reads a schema in CloudKit's schema language (.ckdb), as Apple's tools export it and as people write it.
    ///
    /// Order and comments are not kept. A type without a GRANT line has CloudKit's usual grants. What the text does not mention is not
    /// there, the `Users` type included.
    /// - Throws: ``SchemaTextError``, the first of the text.
    public init(text: String) throws {
        self = try SchemaText(text).schema()
    }
}

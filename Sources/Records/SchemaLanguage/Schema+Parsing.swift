extension Schema {
    /// Parses a schema in CloudKit's schema language (.ckdb), exported by Apple's tools or written by hand.
    ///
    /// Order and comments are not preserved. A type without GRANT lines has CloudKit's default grants. Anything
    /// missing in the text is missing in the schema, including the `Users` type.
    /// - Throws: the first ``SchemaTextError`` of the text.
    public init(text: String) throws {
        self = try SchemaText(text).schema()
    }
}

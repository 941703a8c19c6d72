public import JSON

extension FieldsText {
    /// The undecoded JSON text of each field's value, without its type.
    /// - Throws: `RecordError` INTERNAL_ERROR if the stored fields are damaged.
    public func valueTexts() throws -> [(name: Name, text: ArraySlice<UInt8>)] {
        do {
            return try slices().compactMap { slice in
                try JSONReader.memberSlices(of: slice.value, named: ["value"]).first.map { (slice.name, $0.value) }
            }
        } catch let error as JSONError {
            throw RecordError(.internalError, "The stored fields can't be read: \(error)")
        }
    }
}

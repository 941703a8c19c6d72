public import JSON

extension FieldsText {
    /// The JSON text of each field's value, without its type, not decoded.
    /// - Throws: `RecordError` INTERNAL_ERROR when the text was not made by Skylight.
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

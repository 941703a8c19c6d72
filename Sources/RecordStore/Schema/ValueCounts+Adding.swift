internal import JSON
public import Records

extension ValueCounts {
    /// Counts a record.
    /// - Throws: `RecordError` INTERNAL_ERROR if the stored fields are damaged.
    public mutating func add(_ fields: FieldsText) throws {
        records += 1
        if values.isEmpty { return }
        for (name, _) in try fields.valueTexts() { values[name]? += 1 }
    }
}

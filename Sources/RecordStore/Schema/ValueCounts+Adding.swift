internal import JSON
public import Records

extension ValueCounts {
    /// Counts a record.
    /// - Throws: `RecordError` INTERNAL_ERROR when the stored text is damaged.
    public mutating func add(_ fields: FieldsText) throws {
        records += 1
        if values.isEmpty { return }
        for (name, _) in try fields.valueTexts() { values[name]? += 1 }
    }
}

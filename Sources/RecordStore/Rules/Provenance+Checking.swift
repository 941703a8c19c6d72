internal import JSON
public import Records

extension Provenance {
    /// - Throws: `RecordError` BAD_REQUEST with the invalid part, if no store could have written it.
    public func check() throws {
        for (signature, part) in [(created, "created"), (modified, "modified")] {
            do {
                try NameRules.checkRecordName(signature.userRecordName)
            } catch {
                throw RecordError(.badRequest, "Invalid '\(part)': its userRecordName is not a valid record name")
            }
            let isPlain = signature.deviceID.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
            if !isPlain || signature.deviceID.utf8.count > RecordID.nameLimit {
                throw RecordError(
                    .badRequest, "Invalid '\(part)': its deviceID contains a control character, or is longer than \(RecordID.nameLimit) bytes")
            }
        }
    }
}

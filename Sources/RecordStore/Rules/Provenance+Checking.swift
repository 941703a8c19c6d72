internal import JSON
public import Records

extension Provenance {
    private static let linkCharacters = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~".utf8)

    /// - Throws: `RecordError` BAD_REQUEST with the invalid part, if no store could have written it.
    public func check() throws {
        let isLink = shortGUID?.utf8.allSatisfy { Self.linkCharacters.contains($0) } ?? true
        if !isLink || shortGUID.map({ $0.isEmpty || $0.utf8.count > RecordID.nameLimit }) ?? false {
            throw RecordError(.badRequest, "Invalid 'shortGUID': it is not from a link")
        }
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

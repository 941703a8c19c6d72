internal import Console
internal import JSON
internal import Records

/// A save or a deletion of one record in Swift (Apple's reference pages CKDatabase and CKModifyRecordsOperation).
struct SwiftEditCode {
    let text: String
    let operationText: String

    /// Saves a record with its current values. The developer edits the sample before running it.
    /// - Parameter leftOut: fields that do not fit into the sample.
    init(saving record: StoredRecord, fields: [Field], leftOut: [Name], writer: CodeWriter) {
        let usesPlaces = fields.contains { field in field.value.elements.contains { if case .location = $0 { true } else { false } } }
        let head = writer.swiftHead(imports: usesPlaces ? ["CloudKit", "CoreLocation"] : ["CloudKit"])
            + ["let recordID = \(writer.swiftRecordID(record.recordID.recordName))"]
        var changes = fields.map { Self.assignment($0, writer: writer) }
        if !leftOut.isEmpty {
            changes.append("// Too long for this example, and not changed: \(leftOut.map(\.string).joined(separator: ", "))")
        }
        text = (head + [
            "// The save fails if the record was saved in between.",
            "let record = try await database.record(for: recordID)",
        ] + changes + [
            "let (saveResults, _) = try await database.modifyRecords(",
            "    saving: [record], deleting: [], savePolicy: .ifServerRecordUnchanged)",
            "for (recordID, result) in saveResults { print(recordID.recordName, try result.get()) }",
        ]).joined(separator: "\n")
        operationText = (head + [
            "// The save fails if the record was saved in between.",
            "database.fetch(withRecordID: recordID) { record, error in",
            "    guard let record else { return print(error as Any) }",
        ] + changes.map { "    \($0)" } + [
            "    let operation = CKModifyRecordsOperation(recordsToSave: [record], recordIDsToDelete: nil)",
            "    operation.savePolicy = .ifServerRecordUnchanged",
            "    operation.perRecordSaveBlock = { recordID, result in print(recordID.recordName, result) }",
            "    operation.modifyRecordsResultBlock = { result in",
            "        if case .failure(let error) = result { print(error) }",
            "    }",
            "    database.add(operation)",
            "}",
        ]).joined(separator: "\n")
    }

    init(deleting name: Name, writer: CodeWriter) {
        let head = writer.swiftHead() + ["let recordID = \(writer.swiftRecordID(name))"]
        text = (head + [
            "let (_, deleteResults) = try await database.modifyRecords(saving: [], deleting: [recordID])",
            "for (_, result) in deleteResults { try result.get() }",
        ]).joined(separator: "\n")
        operationText = (head + [
            "let operation = CKModifyRecordsOperation(recordsToSave: nil, recordIDsToDelete: [recordID])",
            "operation.perRecordDeleteBlock = { recordID, result in print(recordID.recordName, result) }",
            "operation.modifyRecordsResultBlock = { result in",
            "    if case .failure(let error) = result { print(error) }",
            "}",
            "database.add(operation)",
        ]).joined(separator: "\n")
    }

    private static func assignment(_ field: Field, writer: CodeWriter) -> String {
        let key = CodeWriter.quoted(field.name.string)
        if !field.value.assets.isEmpty || field.value.type?.valueType == .asset {
            return "// \(field.name) has a file. To replace it: record[\(key)] = CKAsset(fileURL: …)"
        }
        if field.value.elements.contains(where: { if case .reference(let reference) = $0 { reference.action == .validate } else { false } }) {
            return "// \(field.name) has the action VALIDATE, which CloudKit.framework can't set: it is not changed"
        }
        let values = field.isEncrypted ? "record.encryptedValues" : "record"
        return "\(values)[\(key)] = \(SwiftQueryCode.stored(field.value, referenceZone: writer.isZoned ? "zoneID" : nil))"
    }
}

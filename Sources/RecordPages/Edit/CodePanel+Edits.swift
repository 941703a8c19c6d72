internal import Console
internal import Records

/// Operations on one record, as code.
extension CodePanel {
    /// Samples omit fields with longer text, to stay readable.
    private static let fieldLimit = 2000
    /// The limit of all fields in a sample, in bytes.
    private static let totalLimit = 16_000

    /// Code that fetches the record, saves it unchanged, and deletes it.
    /// - Throws: `RecordError` INTERNAL_ERROR if the stored fields are damaged.
    static func panels(of record: StoredRecord, visit: Visit) throws -> [CodePanel] {
        let name = record.recordID.recordName
        let writer = CodeWriter(visit.place, zoneID: record.recordID.zoneID, server: visit.server)
        let fetch = CodePanel(fetching: [name], keys: nil, zoneID: record.recordID.zoneID, visit: visit)
        return [
            CodePanel(title: "Fetch the record", samples: fetch.samples), try saving(record, writer: writer),
            deleting(record, writer: writer),
        ]
    }

    /// Code that saves the record unchanged. It omits values that the language can't express exactly, so they keep
    /// their stored value.
    /// - Throws: `RecordError` INTERNAL_ERROR if the stored fields are damaged.
    static func saving(_ record: StoredRecord, writer: CodeWriter) throws -> CodePanel {
        let (fields, left) = try shown(record)
        let swift = SwiftEditCode(saving: record, fields: fields, leftOut: left, writer: writer)
        let json = self.json(of: record, fields: fields)
        let subject = "The save"
        let exact = fields.filter(isExactInJavaScript)
        let inexact = fields.filter { !isExactInJavaScript($0) }.map(\.name)
        let note = [("Too long for this example", left), ("Not exact in JavaScript", inexact)].filter { !$0.1.isEmpty }
            .map { reason, names in
                "// \(reason), and not changed: \(names.map(\.string).joined(separator: ", "))\n"
            }.joined()
        return CodePanel(
            title: "Save the record",
            samples: [
                CodeSample("Swift, async", of: subject, text: swift.text),
                CodeSample("Swift, CKModifyRecordsOperation", of: subject, text: swift.operationText),
                writer.javaScript(
                    of: subject,
                    """
                    \(note)const records = [\(RecordJSON.laidOut(self.json(of: record, fields: exact)))]
                    const response = await database.saveRecords(records\(writer.javaScriptOptions))
                    \(CodeWriter.printRecords)
                    """),
                writer.modification("update", json, of: subject),
            ])
    }

    private static func deleting(_ record: StoredRecord, writer: CodeWriter) -> CodePanel {
        let swift = SwiftEditCode(deleting: record.recordID.recordName, writer: writer)
        let subject = "The deletion"
        let names = RecordJSON.laidOut(.array([.string(record.recordID.recordName.string)]))
        let json = JSONValue.object(
            JSONObject([
                JSONObject.Member(name: "recordName", value: .string(record.recordID.recordName.string)),
                JSONObject.Member(name: "recordChangeTag", value: .string(record.recordChangeTag)),
            ]))
        return CodePanel(
            title: "Delete the record",
            samples: [
                CodeSample("Swift, async", of: subject, text: swift.text),
                CodeSample("Swift, CKModifyRecordsOperation", of: subject, text: swift.operationText),
                writer.javaScript(
                    of: subject,
                    """
                    const response = await database.deleteRecords(\(names)\(writer.javaScriptOptions))
                    if (response.hasErrors) throw response.errors[0]
                    """),
                writer.modification("delete", json, of: subject),
            ])
    }

    /// The fields that fit into a sample, and the names of the others.
    private static func shown(_ record: StoredRecord) throws -> (fields: [Field], left: [Name]) {
        var fields: [Field] = []
        var left: [Name] = []
        var total = 0
        for field in try record.fields.decoded() {
            let size = FieldsText([field]).bytes.count
            if size > fieldLimit || total + size > totalLimit {
                left.append(field.name)
            } else {
                total += size
                fields.append(field)
            }
        }
        return (fields, left)
    }

    /// True if JavaScript numbers represent the field's integers exactly. They round integers beyond 2^53.
    private static func isExactInJavaScript(_ field: Field) -> Bool {
        let limit: Int64 = 1 << 53
        return field.value.elements.allSatisfy { value in
            switch value {
            case .int64(let number): (-limit...limit).contains(number)
            case .timestamp(let moment): (-limit...limit).contains(moment.milliseconds)
            default: true
            }
        }
    }

    private static func json(of record: StoredRecord, fields: [Field]) -> JSONValue {
        let text = FieldsText(fields).bytes
        return .object(
            JSONObject([
                JSONObject.Member(name: "recordType", value: .string(record.recordType.string)),
                JSONObject.Member(name: "recordName", value: .string(record.recordID.recordName.string)),
                JSONObject.Member(name: "recordChangeTag", value: .string(record.recordChangeTag)),
                // The writer's own output always parses.
                JSONObject.Member(name: "fields", value: (try? JSONReader.value(of: text)) ?? .object(JSONObject())),
            ]))
    }
}

// MARK: - Edits in Swift

/// A save or a deletion of one record in Swift (Apple's reference pages CKDatabase and CKModifyRecordsOperation).
struct SwiftEditCode {
    let text: String
    let operationText: String

    /// Saves a record with its current values. The developer edits the sample before running it.
    /// - Parameter leftOut: fields that do not fit into the sample.
    init(saving record: StoredRecord, fields: [Field], leftOut: [Name], writer: CodeWriter) {
        let usesPlaces = fields.contains { field in
            field.value.elements.contains { if case .location = $0 { true } else { false } }
        }
        let head =
            writer.swiftHead(imports: usesPlaces ? ["CloudKit", "CoreLocation"] : ["CloudKit"])
            + ["let recordID = \(writer.swiftRecordID(record.recordID.recordName))"]
        var changes = fields.map { Self.assignment($0, writer: writer) }
        if !leftOut.isEmpty {
            changes.append(
                "// Too long for this example, and not changed: \(leftOut.map(\.string).joined(separator: ", "))")
        }
        text =
            (head + [
                "// The save fails if the record was saved in between.",
                "let record = try await database.record(for: recordID)",
            ] + changes + [
                "let (saveResults, _) = try await database.modifyRecords(",
                "    saving: [record], deleting: [], savePolicy: .ifServerRecordUnchanged)",
                "for (recordID, result) in saveResults { print(recordID.recordName, try result.get()) }",
            ]).joined(separator: "\n")
        operationText =
            (head + [
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
        text =
            (head + [
                "let (_, deleteResults) = try await database.modifyRecords(saving: [], deleting: [recordID])",
                "for (_, result) in deleteResults { try result.get() }",
            ]).joined(separator: "\n")
        operationText =
            (head + [
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
        if field.value.elements.contains(where: {
            if case .reference(let reference) = $0 { reference.action == .validate } else { false }
        }) {
            return "// \(field.name) has the action VALIDATE, which CloudKit.framework can't set: it is not changed"
        }
        let values = field.isEncrypted ? "record.encryptedValues" : "record"
        return
            "\(values)[\(key)] = \(SwiftQueryCode.stored(field.value, referenceZone: writer.isZoned ? "zoneID" : nil))"
    }
}

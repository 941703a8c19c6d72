internal import Console
internal import JSON
internal import Records

/// A fetch of records by their names in Swift (Apple's reference pages CKDatabase and CKFetchRecordsOperation).
struct SwiftFetchCode {
    let text: String
    let operationText: String

    /// - Parameter keys: the fields to return; `nil` for all.
    init(_ names: [Name], keys: [Name]?, writer: CodeWriter) {
        var head = writer.swiftHead()
        head.append("let recordIDs = [")
        head += names.map { "    \(writer.swiftRecordID($0))," }
        head.append("]")
        let asked = keys.map { ", desiredKeys: \(CodeWriter.swiftList($0))" } ?? ""
        text = (head + [
            "let results = try await database.records(for: recordIDs\(asked))",
            "for (recordID, result) in results {",
            "    switch result {",
            "    case .success(let record): print(recordID.recordName, record)",
            "    case .failure(let error): print(recordID.recordName, error)",
            "    }",
            "}",
        ]).joined(separator: "\n")
        operationText = (head + ["let operation = CKFetchRecordsOperation(recordIDs: recordIDs)"]
            + (keys.map { ["operation.desiredKeys = \(CodeWriter.swiftList($0))"] } ?? []) + [
                "operation.perRecordResultBlock = { recordID, result in",
                "    switch result {",
                "    case .success(let record): print(recordID.recordName, record)",
                "    case .failure(let error): print(recordID.recordName, error)",
                "    }",
                "}",
                "operation.fetchRecordsResultBlock = { result in",
                "    if case .failure(let error) = result { print(error) }",
                "}",
                "database.add(operation)",
            ]).joined(separator: "\n")
    }
}

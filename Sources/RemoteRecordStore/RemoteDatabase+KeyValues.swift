internal import JSON
internal import RecordStore
internal import Records

extension RemoteDatabase {
    func keyValues(since token: ChangeToken?) async throws -> KeyValueChanges {
        try KeyValueChanges(
            await line.post("keyvalues/changes", of: .skylight, .reads) { writer in try writer.member(since: token) }.object())
    }

    func modifyKeyValues(_ operations: [KeyValueOperation]) async throws -> KeyValueUsage {
        try KeyValueUsage(
            await line.post("keyvalues/modify", of: .skylight, .saves) { writer in
                writer.name("operations")
                writer.array { writer in
                    for operation in operations { writer.value(operation) }
                }
            }.object())
    }
}

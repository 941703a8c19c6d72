internal import GRDB
public import JSON
public import Records
internal import Synchronization

extension Accounts {
    /// The maximum number of types of a container with a chosen field.
    public static let titleFieldLimit = 1000

    /// The chosen fields whose values are the titles of a container's records, by type. Other types have none.
    public func titleFields(of container: ContainerID) -> [Name: Name] {
        titled.withLock { $0[container] ?? [:] }
    }

    /// Chooses the field with the titles of a type's records, in both environments; `nil` forgets the choice.
    /// - Throws: `RecordError` BAD_REQUEST if too many types have a field; a file error.
    public func setTitleField(_ field: Name?, of recordType: Name, in container: ContainerID) async throws {
        let chosen = titleFields(of: container)
        if field != nil, chosen[recordType] == nil, chosen.count >= Self.titleFieldLimit {
            throw RecordError(.badRequest, "\(Self.titleFieldLimit) types of the container have a title, which is the limit; forget the title of another type first")
        }
        try await queue.write { database in
            if let field {
                try database.execute(
                    sql: "INSERT OR REPLACE INTO titleField (container, recordType, field) VALUES (?, ?, ?)",
                    arguments: [container.description, recordType.string, field.string])
            } else {
                try database.execute(sql: "DELETE FROM titleField WHERE container = ? AND recordType = ?", arguments: [container.description, recordType.string])
            }
        }
        titled.withLock { $0[container, default: [:]][recordType] = field }
    }

    /// Forgets the choices of a deleted container, so that a new container with the same name does not inherit them.
    /// - Throws: a file error.
    public func removeTitleFields(of container: ContainerID) async throws {
        try await queue.write { try $0.execute(sql: "DELETE FROM titleField WHERE container = ?", arguments: [container.description]) }
        titled.withLock { $0[container] = nil }
    }

    /// Moves the choices of a renamed container. They replace those for the same types.
    /// - Throws: a file error.
    public func moveTitleFields(of container: ContainerID, to name: ContainerID) async throws {
        if name == container { return }
        try await queue.write { database in
            try database.execute(
                sql: "UPDATE OR REPLACE titleField SET container = ? WHERE container = ?", arguments: [name.description, container.description])
        }
        titled.withLock { titled in
            let moved = titled.removeValue(forKey: container) ?? [:]
            titled[name, default: [:]].merge(moved) { _, moved in moved }
        }
    }

    /// Reads the choices from the file, skipping unreadable ones.
    static func titleFields(in database: Database) throws -> [ContainerID: [Name: Name]] {
        var fields: [ContainerID: [Name: Name]] = [:]
        for row in try Row.fetchAll(database, sql: "SELECT container, recordType, field FROM titleField") {
            guard let container = ContainerID(try row.value("container") as String) else { continue }
            fields[container, default: [:]][Name(try row.value("recordType") as String)] = Name(try row.value("field") as String)
        }
        return fields
    }
}

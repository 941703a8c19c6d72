internal import RecordStore
public import Records

extension InMemoryRecordEngine {
    public func deleteContainer(_ container: ContainerID) async throws {
        try move(container, to: nil)
    }

    public func renameContainer(_ container: ContainerID, to name: ContainerID) async throws {
        try move(container, to: name)
    }
}

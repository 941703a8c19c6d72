public import JSON
public import Records

/// An engine that can tell whether it knows a user, without getting to know them: a handle to a database may make its caller known.
public protocol UserKnowing: RecordEngine {
    /// Whether anything was ever saved in this user's name, or shown to them, or asked since the engine was made. Somebody who is not known has no data.
    func knows(_ userRecordName: Name, in container: ContainerID, _ environment: Environment) async throws -> Bool
}

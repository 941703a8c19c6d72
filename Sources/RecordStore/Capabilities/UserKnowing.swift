public import JSON
public import Records

/// An engine that can tell whether it knows a user without registering the user. Opening a database may register its
/// caller.
public protocol UserKnowing: RecordEngine {
    /// True if anything was saved by or shared with the user, or if the user sent a request since the engine was
    /// created. An unknown user has no data.
    func knows(_ userRecordName: Name, in container: ContainerID, _ environment: Environment) async throws -> Bool
}

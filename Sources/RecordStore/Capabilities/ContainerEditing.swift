public import Records

/// An engine whose containers can be deleted and renamed. In CloudKit they can't be.
///
/// Operations in progress fail, and existing handles become invalid. Asset files are stored with the container and
/// are deleted or moved with it, so open asset stores must be closed first.
public protocol ContainerEditing: RecordEngine {
    /// Deletes a container irrevocably: records, zones, shares, users and the schemas of both environments.
    /// - Throws: `RecordError` NOT_FOUND if the container does not exist, TRY_AGAIN_LATER while it is being deleted
    ///   or renamed.
    func deleteContainer(_ container: ContainerID) async throws

    /// Renames a container. Change tokens stay valid, file URLs do not.
    /// - Throws: like ``deleteContainer(_:)``, and `RecordError` EXISTS if a container has the new name or one that
    ///   differs only in case.
    func renameContainer(_ container: ContainerID, to name: ContainerID) async throws
}

extension RecordError {
    /// The error for a container that is being deleted or renamed.
    public static func containerBusy(_ container: ContainerID) -> RecordError {
        RecordError(.tryAgainLater, "The container '\(container)' is being deleted or renamed", retryAfter: 1)
    }

    /// The error for deleting or renaming a container that does not exist.
    public static func noContainer(_ container: ContainerID) -> RecordError {
        RecordError(.notFound, "There is no container '\(container)'")
    }

    /// The error for a container name that is in use.
    public static func containerExists(_ container: ContainerID) -> RecordError {
        RecordError(.exists, "The container '\(container)' already exists; choose another name")
    }
}

public import Records

/// An engine whose containers can be deleted and renamed. CloudKit's can't: an app's container stays for ever.
///
/// What is under way in the container meanwhile fails, and its handles are worth nothing afterwards. Files of assets that the container's
/// records refer to stand beside its records and go with them; who has asset stores open closes them first.
public protocol ContainerEditing: RecordEngine {
    /// Deletes a container with everything in it: records, zones, shares and schema of both environments and all users. There is no way back.
    /// - Throws: `RecordError` NOT_FOUND when there is no such container, TRY_AGAIN_LATER while it is being deleted or renamed already.
    func deleteContainer(_ container: ContainerID) async throws

    /// Gives a container another name. Change tokens stay good; addresses of files don't.
    /// - Throws: as ``deleteContainer(_:)``, and `RecordError` EXISTS when a container has the name, or one that differs only in case.
    func renameContainer(_ container: ContainerID, to name: ContainerID) async throws
}

extension RecordError {
    /// A container that is asked for while it is taken away or moved.
    public static func containerBusy(_ container: ContainerID) -> RecordError {
        RecordError(.tryAgainLater, "The container '\(container)' is being deleted or renamed", retryAfter: 1)
    }

    /// A container that can't be deleted or renamed, because it is not there.
    public static func noContainer(_ container: ContainerID) -> RecordError {
        RecordError(.notFound, "There is no container '\(container)'")
    }

    /// A name that another container has.
    public static func containerExists(_ container: ContainerID) -> RecordError {
        RecordError(.exists, "There is a container '\(container)' already; choose another name")
    }
}

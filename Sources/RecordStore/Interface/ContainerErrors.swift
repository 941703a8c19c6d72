public import Records

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

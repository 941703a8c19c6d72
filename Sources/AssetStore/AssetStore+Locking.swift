internal import Records

extension AssetStore {
    /// The time between two attempts to take a lock that another process has.
    private static let lockInterval = Duration.milliseconds(5)
    /// As long as a commit may take whose answer is late.
    private static let lockPatience = Duration.seconds(60)

    /// Waits until no other process removes files of a subfolder, and then keeps them from it: a file must not be removed between its placing and
    /// its entry. Within this process, ``FileHolds`` see to that. No thread is blocked meanwhile.
    /// - Returns: the locked file, which the caller must unlock; `nil` if no other process has the folder.
    /// - Throws: `RecordError` TRY_AGAIN_LATER after a minute, `CancellationError`, ``DiskFailure``.
    func lockForUpload(of checksum: FileChecksum) async throws -> DiskFile? {
        guard folder.isShared else { return nil }
        let file = try await threads.run(.writing) { [folder] in try folder.openLock(of: checksum) }
        let start = ContinuousClock.now
        while try await !threads.run(.writing, { file.tryLock(.shared) }) {
            guard ContinuousClock.now - start < Self.lockPatience else {
                throw RecordError(.tryAgainLater, "Another server is removing files; send the file again", retryAfter: 1)
            }
            try await Task.sleep(for: Self.lockInterval)
        }
        return file
    }
}

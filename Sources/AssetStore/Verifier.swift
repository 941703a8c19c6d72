internal import Foundation
internal import RecordStore
internal import Records

/// One verification of a store. No sweep of this process runs meanwhile. One of another process may remove entries with their files.
struct Verifier {
    typealias Progress = @Sendable (AssetVerification) async -> Void

    let store: AssetStore
    var result = AssetVerification()
    private var told = ContinuousClock.now
    /// The number of counted uses per file, by the first eight bytes of the checksum. A million files need about 30 MB.
    var counted: [UInt64: Int] = [:]

    private static let page = 1000

    init(store: AssetStore) {
        self.store = store
    }

    mutating func tell(_ progress: Progress) async throws {
        try Task.checkCancellation()
        let now = ContinuousClock.now
        guard now - told >= .milliseconds(100) else { return }
        told = now
        await progress(result)
    }

    mutating func report(_ kind: AssetVerification.Problem.Kind, _ checksum: String, use: AssetUse? = nil, _ explanation: String) {
        result.problems.append(AssetVerification.Problem(kind: kind, checksum: checksum, use: use, explanation: explanation))
    }

    // MARK: Files

    /// Determines the total amount of work.
    mutating func countEntries(_ progress: Progress) async throws {
        var last: FileChecksum?
        while true {
            let page = try await store.ledger.entries(after: last, limit: Self.page)
            guard let end = page.last else { return }
            last = end.checksum
            result.filesTotal += page.count
            result.bytesTotal += page.reduce(0) { $0 + $1.size }
            try await tell(progress)
        }
    }

    mutating func readFiles(_ progress: Progress) async throws {
        let folder = store.folder
        let subfolders = try await store.threads.run(.background) { try folder.subfolders() }
        var page: ArraySlice<AssetEntry> = []
        var last: FileChecksum?
        for number in UInt8.min...UInt8.max {
            var strays: [FileChecksum: AssetFolder.Found] = [:]
            if subfolders.contains(number) {
                do {
                    let found = try await store.threads.run(.background) { try folder.files(in: number) }
                    strays = Dictionary(uniqueKeysWithValues: found.map { ($0.checksum, $0) })
                } catch let failure as DiskFailure {
                    reportUnreadable(AssetFolder.subfolder(number), failure)
                }
            }
            while true {
                if page.isEmpty { page = try await store.ledger.entries(after: last, limit: Self.page)[...] }
                guard let entry = page.first, entry.checksum.bytes[0] == number else { break }
                page.removeFirst()
                last = entry.checksum
                strays[entry.checksum] = nil
                try await check(entry, progress)
            }
            for stray in strays.values { try await count(stray) }
            try await tell(progress)
        }
    }

    /// Counts a file without an entry, which a sweep removes later. Ignores files that an upload is about to enter or has just entered.
    private mutating func count(_ stray: AssetFolder.Found) async throws {
        let (folder, checksum) = (store.folder, stray.checksum)
        if store.holds.isHeld(checksum) { return }
        if try await store.ledger.entry(of: checksum) != nil { return }
        do {
            let bytes = try await store.threads.run(.background) {
                try (folder.status(of: checksum)?.size ?? 0) + (folder.compressedStatus(of: checksum)?.size ?? 0)
            }
            result.unusedFiles += 1
            result.unusedBytes += bytes
        } catch let failure as DiskFailure {
            reportUnreadable(checksum.description, failure)
        }
    }

    /// - Parameter name: the checksum of a file, or the name of a folder.
    private mutating func reportUnreadable(_ name: String, _ failure: DiskFailure) {
        report(.unreadable, name, "\(failure.recordError.reason). Check the disk; restore the file from a copy, or upload it again")
    }

    private mutating func check(_ entry: AssetEntry, _ progress: Progress) async throws {
        let before = result.bytesDone
        if entry.useCount == 0, entry.inUseUntil < store.clock() {
            result.unusedFiles += 1
            result.unusedBytes += entry.size
        }
        do {
            if try await checkFile(entry, progress) { try await checkCompressedForm(entry, progress) }
        } catch let failure as DiskFailure {
            reportUnreadable(entry.checksum.description, failure)
        }
        result.filesDone += 1
        // Counts the entry's size, even if the file had another one.
        result.bytesDone = before + entry.size
        // The entry may have been made after the count.
        result.filesTotal = max(result.filesTotal, result.filesDone)
        result.bytesTotal = max(result.bytesTotal, result.bytesDone)
        try await tell(progress)
    }

    /// - Returns: true if the file is intact.
    private mutating func checkFile(_ entry: AssetEntry, _ progress: Progress) async throws -> Bool {
        let (folder, checksum) = (store.folder, entry.checksum)
        let opened: (file: DiskFile, size: Int64)? = try await store.threads.run(.background) {
            do throws(DiskFailure) {
                let file = try DiskFile(reading: folder.path(of: checksum))
                return (file, try file.status().size)
            } catch {
                if error.isMissing { return nil }
                throw error
            }
        }
        let remedy = "Restore the file \(AssetFolder.name(of: checksum)) from a copy, or upload the same file again"
        guard let opened else {
            if try await store.ledger.entry(of: checksum) == nil { return false }
            report(.missing, checksum.description, "The file is missing. \(remedy)")
            return false
        }
        guard opened.size == entry.size else {
            report(.changed, checksum.description, "The file has \(opened.size) bytes instead of \(entry.size). \(remedy)")
            return false
        }
        let hashing = FileHashing(opened.file)
        let before = result.bytesDone
        while try await store.threads.run(.background, { try hashing.step() }) {
            result.bytesDone = before + min(hashing.size, entry.size)
            try await tell(progress)
        }
        if hashing.checksum == checksum { return true }
        report(.changed, checksum.description, "The file's bytes were changed. \(remedy)")
        return false
    }

    private mutating func checkCompressedForm(_ entry: AssetEntry, _ progress: Progress) async throws {
        let (folder, checksum) = (store.folder, entry.checksum)
        let unpacking = try await store.threads.run(.background) { try FileUnpacking(of: checksum, size: entry.size, in: folder) }
        guard let unpacking else { return }
        while try await store.threads.run(.background, { try unpacking.step() }) { try await tell(progress) }
        if unpacking.isRight { return }
        report(
            .compressedFormChanged, checksum.description,
            "The compressed form is damaged. Delete \(AssetFolder.name(of: checksum)).gz; it is created again on the next download")
    }
}

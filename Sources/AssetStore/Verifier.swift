internal import Foundation
public import RecordStore
package import Records
internal import Synchronization

extension AssetStore {
    /// Verifies everything: reads every file and compares it with its checksum, unpacks every compressed form, and
    /// compares all assets in records with the ledger. Changes nothing. Other operations except sweeps continue
    /// meanwhile.
    /// - Parameter progress: receives the findings so far, about ten times a second.
    /// - Returns: the final findings.
    public func verify(_ progress: @Sendable (AssetVerification) async -> Void) async throws -> AssetVerification {
        while !beginVerification() { try await Task.sleep(for: .milliseconds(50)) }
        defer { upkeep.withLock { $0.verifications -= 1 } }
        return try await reportingDiskFailures {
            var work = Verifier(store: self)
            try await work.countEntries(progress)
            try await work.readFiles(progress)
            try await work.checkRecords(progress)
            await progress(work.result)
            return work.result
        }
    }

    private func beginVerification() -> Bool {
        upkeep.withLock { upkeep in
            if upkeep.isSweeping { return false }
            upkeep.verifications += 1
            return true
        }
    }
}

// MARK: - Result

/// The findings of a verification, preliminary or final.
public struct AssetVerification: Sendable, Hashable {
    public struct Problem: Sendable, Hashable {
        public enum Kind: String, Sendable, Hashable, CaseIterable {
            /// The file of an entry is missing.
            case missing
            /// The content of a file does not match its checksum or its size in the ledger.
            case changed
            /// The compressed form does not match the file.
            case compressedFormChanged
            /// A record refers to an asset without an entry.
            case notEntered
            /// The use count of an entry differs from the uses in records.
            case miscounted
            /// A file or folder can't be read.
            case unreadable
        }

        public var kind: Kind
        /// The checksum of the file, or the name of an unreadable folder, which is the prefix of its checksums.
        public var checksum: String
        /// The record field with the asset; `nil` if no field is known.
        public var use: AssetUse?
        /// The problem in words, with a remedy.
        public var explanation: String

        public init(kind: Kind, checksum: String, use: AssetUse? = nil, explanation: String) {
            self.kind = kind
            self.checksum = checksum
            self.use = use
            self.explanation = explanation
        }
    }

    public var filesDone = 0
    public var filesTotal = 0
    public var bytesDone: Int64 = 0
    public var bytesTotal: Int64 = 0
    public var referencesDone = 0
    /// The number of unused files, which a later sweep removes.
    public var unusedFiles = 0
    public var unusedBytes: Int64 = 0
    public var problems: [Problem] = []

    public init() {}
}

extension AssetVerification: JSONObjectCoded {
    /// The progress: the last line of an answer also lists the problems.
    package static let form = JSONForm<AssetVerification>(
        { filesDone, filesTotal, bytesDone, bytesTotal, referencesDone, unusedFiles, unusedBytes, _ in
            var verification = AssetVerification()
            (verification.filesDone, verification.filesTotal) = (filesDone, filesTotal)
            (verification.bytesDone, verification.bytesTotal) = (bytesDone, bytesTotal)
            verification.referencesDone = referencesDone
            (verification.unusedFiles, verification.unusedBytes) = (unusedFiles, unusedBytes)
            return verification
        },
        JSONPart("filesDone", \.filesDone), JSONPart("filesTotal", \.filesTotal), JSONPart("bytesDone", \.bytesDone),
        JSONPart("bytesTotal", \.bytesTotal), JSONPart("referencesDone", \.referencesDone),
        JSONPart("unusedFiles", \.unusedFiles), JSONPart("unusedBytes", \.unusedBytes),
        JSONPart("problemCount", \.problems.count))
}

extension AssetVerification.Problem.Kind: JSONWord {}

extension AssetVerification.Problem: JSONObjectCoded {
    package static let form = JSONForm<AssetVerification.Problem>(
        { kind, checksum, explanation, use in
            AssetVerification.Problem(kind: kind, checksum: checksum, use: use, explanation: explanation)
        },
        JSONPart("problem", \.kind), JSONPart("fileChecksum", \.checksum), JSONPart("explanation", \.explanation),
        JSONPart("use", \.use))
}

// MARK: - Verifier

/// One verification of a store. No sweep of this process runs meanwhile. A sweep of another process may remove entries
/// with their files.
struct Verifier {
    typealias Progress = @Sendable (AssetVerification) async -> Void

    let store: AssetStore
    var result = AssetVerification()
    private var reported = ContinuousClock.now
    /// The number of counted uses per file, by the first eight bytes of the checksum. A million files need about 30 MB.
    var counted: [UInt64: Int] = [:]

    private static let page = 1000

    init(store: AssetStore) {
        self.store = store
    }

    mutating func reportProgress(to progress: Progress) async throws {
        try Task.checkCancellation()
        let now = ContinuousClock.now
        guard now - reported >= .milliseconds(100) else { return }
        reported = now
        await progress(result)
    }

    mutating func report(
        _ kind: AssetVerification.Problem.Kind, _ checksum: String, use: AssetUse? = nil, _ explanation: String
    ) {
        result.problems.append(
            AssetVerification.Problem(kind: kind, checksum: checksum, use: use, explanation: explanation))
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
            try await reportProgress(to: progress)
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
            try await reportProgress(to: progress)
        }
    }

    /// Counts a file without an entry, which a sweep removes later. Ignores files that an upload is about to enter or
    /// has just entered.
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
        report(
            .unreadable, name,
            "\(failure.recordError.reason). Check the disk; restore the file from a copy, or upload it again")
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
        try await reportProgress(to: progress)
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
            report(
                .changed, checksum.description, "The file has \(opened.size) bytes instead of \(entry.size). \(remedy)")
            return false
        }
        let hashing = FileHashing(opened.file)
        let before = result.bytesDone
        while try await store.threads.run(.background, { try hashing.step() }) {
            result.bytesDone = before + min(hashing.size, entry.size)
            try await reportProgress(to: progress)
        }
        if hashing.checksum == checksum { return true }
        report(.changed, checksum.description, "The file's bytes were changed. \(remedy)")
        return false
    }

    private mutating func checkCompressedForm(_ entry: AssetEntry, _ progress: Progress) async throws {
        let (folder, checksum) = (store.folder, entry.checksum)
        let unpacking = try await store.threads.run(.background) {
            try FileUnpacking(of: checksum, size: entry.size, in: folder)
        }
        guard let unpacking else { return }
        while try await store.threads.run(.background, { try unpacking.step() }) {
            try await reportProgress(to: progress)
        }
        if unpacking.isRight { return }
        report(
            .compressedFormChanged, checksum.description,
            "The compressed form is damaged. Delete \(AssetFolder.name(of: checksum)).gz; it is created again on the next download"
        )
    }
}

// MARK: - Records

extension Verifier {
    /// Compares the assets in records with the ledger entries, and the use counts with the records.
    mutating func checkRecords(_ progress: Progress) async throws {
        // Adds the first record that refers to a damaged file to its problem report.
        var nameless = Dictionary(grouping: result.problems.indices.filter { result.problems[$0].use == nil }) {
            result.problems[$0].checksum
        }
        try await forEachAsset { verifier, assets in
            var entries: [FileChecksum: AssetEntry] = [:]
            for recorded in assets {
                for index in nameless.removeValue(forKey: recorded.asset.fileChecksum) ?? [] {
                    verifier.result.problems[index].use = recorded.use
                }
                try await verifier.check(recorded, &entries)
            }
            for key in Self.uses(assets) { verifier.counted[key, default: 0] += 1 }
            verifier.result.referencesDone += assets.count
            try await verifier.reportProgress(to: progress)
        }
        try await checkCounts(progress)
    }

    private mutating func forEachAsset(_ look: (inout Verifier, [RecordedAsset]) async throws -> Void) async throws {
        var place: Int64?
        repeat {
            let page = try await store.ledger.recordedAssets(after: place)
            try await look(&self, page.assets)
            place = page.next
        } while place != nil
    }

    private mutating func check(_ recorded: RecordedAsset, _ entries: inout [FileChecksum: AssetEntry]) async throws {
        let asset = recorded.asset
        guard let checksum = FileChecksum(asset.fileChecksum) else {
            return report(
                .notEntered, asset.fileChecksum, use: recorded.use,
                "The fileChecksum was not made by Skylight. Upload the file and save the record")
        }
        if entries[checksum] == nil { entries[checksum] = try await store.ledger.entry(of: checksum) }
        guard let entry = entries[checksum] else {
            return report(
                .notEntered, asset.fileChecksum, use: recorded.use,
                "The record refers to a file that is not stored. Upload it and save the record")
        }
        if asset.size != entry.size {
            report(
                .changed, asset.fileChecksum, use: recorded.use,
                "The record's size of the file is \(asset.size) bytes, but the file has \(entry.size). Save the record with the asset as uploaded"
            )
        }
        if !recorded.isCounted {
            report(
                .miscounted, asset.fileChecksum, use: recorded.use,
                "The record's use of the file is not counted, so a sweep may delete it. Save the record again")
        }
    }

    // MARK: Counts

    /// The files of a page, once per counted field: a list with duplicate files uses each file once.
    private static func uses(_ assets: [RecordedAsset]) -> [UInt64] {
        var seen: Set<RecordedAsset> = []
        return assets.compactMap { recorded in
            guard recorded.isCounted, let checksum = FileChecksum(recorded.asset.fileChecksum) else { return nil }
            let use = RecordedAsset(
                use: recorded.use, asset: Asset(fileChecksum: recorded.asset.fileChecksum, size: 0), isCounted: true)
            return seen.insert(use).inserted ? key(of: checksum) : nil
        }
    }

    private static func key(of checksum: FileChecksum) -> UInt64 {
        checksum.bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// Records may change during the verification, so mismatches are counted again. Only mismatches that stay the same
    /// are reported.
    private mutating func checkCounts(_ progress: Progress) async throws {
        var doubtful = try await entriesThatDisagree(progress)
        for _ in 0..<2 where !doubtful.isEmpty {
            let before = Dictionary(
                uniqueKeysWithValues: doubtful.map { ($0.checksum, counted[Self.key(of: $0.checksum)] ?? 0) })
            try await recount(doubtful, progress)
            var still: [AssetEntry] = []
            for entry in doubtful {
                let now = try await store.ledger.entry(of: entry.checksum)
                let count = counted[Self.key(of: entry.checksum)] ?? 0
                if let now, now.useCount == entry.useCount, count == before[entry.checksum], count != now.useCount {
                    still.append(now)
                }
            }
            doubtful = still
        }
        for entry in doubtful {
            report(
                .miscounted, entry.checksum.description,
                "\(entry.useCount) uses of the file are counted, but records have \(counted[Self.key(of: entry.checksum)] ?? 0). "
                    + "Export the container and import it again to correct the count")
        }
    }

    private mutating func entriesThatDisagree(_ progress: Progress) async throws -> [AssetEntry] {
        var found: [AssetEntry] = []
        var last: FileChecksum?
        while true {
            let page = try await store.ledger.entries(after: last, limit: 1000)
            guard let end = page.last else { return found }
            last = end.checksum
            found += page.filter { $0.useCount != counted[Self.key(of: $0.checksum)] ?? 0 }
            try await reportProgress(to: progress)
        }
    }

    private mutating func recount(_ entries: [AssetEntry], _ progress: Progress) async throws {
        let keys = Set(entries.map { Self.key(of: $0.checksum) })
        for key in keys { counted[key] = 0 }
        try await forEachAsset { verifier, assets in
            for key in Self.uses(assets) where keys.contains(key) { verifier.counted[key, default: 0] += 1 }
            try await verifier.reportProgress(to: progress)
        }
    }
}

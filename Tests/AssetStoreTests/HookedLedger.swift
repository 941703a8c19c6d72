import Records

@testable import RecordStore

/// A ledger that lets other processes act at the worst moments.
struct HookedLedger: AssetLedger {
    enum Moment {
        /// A file has its place, and its entry is about to be made.
        case entering
        /// Entries are struck off, and their files are still there.
        case struck
        /// An entry was looked for.
        case askedFor
        /// A page of entries was read.
        case listed
    }

    let base: DoctoredLedger
    let moment: Moment
    let act: @Sendable () async throws -> Void

    init(_ base: DoctoredLedger, at moment: Moment, act: @escaping @Sendable () async throws -> Void) {
        self.base = base
        self.moment = moment
        self.act = act
    }

    var tickets: AssetTickets { base.tickets }

    private func come(to moment: Moment) async throws {
        if moment == self.moment { try await act() }
    }

    func enter(_ checksum: FileChecksum, size: Int64, inUseUntil until: Timestamp) async throws {
        try await come(to: .entering)
        try await base.enter(checksum, size: size, inUseUntil: until)
    }

    func entry(of checksum: FileChecksum) async throws -> AssetEntry? {
        let entry = try await base.entry(of: checksum)
        try await come(to: .askedFor)
        return entry
    }

    func entries(after checksum: FileChecksum?, limit: Int) async throws -> [AssetEntry] {
        let entries = try await base.entries(after: checksum, limit: limit)
        try await come(to: .listed)
        return entries
    }

    func entries(unusedSince moment: Timestamp, after checksum: FileChecksum?, limit: Int) async throws -> [AssetEntry]
    {
        try await base.entries(unusedSince: moment, after: checksum, limit: limit)
    }

    func strike(_ checksums: [FileChecksum], unusedSince moment: Timestamp) async throws -> Set<FileChecksum> {
        let struck = try await base.strike(checksums, unusedSince: moment)
        try await come(to: .struck)
        return struck
    }

    func recordedAssets(after place: Int64?) async throws -> RecordedAssetsPage {
        try await base.recordedAssets(after: place)
    }
}

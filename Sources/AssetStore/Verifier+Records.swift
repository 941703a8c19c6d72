internal import RecordStore
internal import Records

extension Verifier {
    /// Compares the assets in records with the ledger entries, and the use counts with the records.
    mutating func checkRecords(_ progress: Progress) async throws {
        // Adds the first record that refers to a damaged file to its problem report.
        var nameless = Dictionary(grouping: result.problems.indices.filter { result.problems[$0].use == nil }) { result.problems[$0].checksum }
        try await forEachAsset { verifier, assets in
            var entries: [FileChecksum: AssetEntry] = [:]
            for recorded in assets {
                for index in nameless.removeValue(forKey: recorded.asset.fileChecksum) ?? [] { verifier.result.problems[index].use = recorded.use }
                try await verifier.check(recorded, &entries)
            }
            for key in Self.uses(assets) { verifier.counted[key, default: 0] += 1 }
            verifier.result.referencesDone += assets.count
            try await verifier.tell(progress)
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
                .notEntered, asset.fileChecksum, use: recorded.use, "The fileChecksum was not made by Skylight. Upload the file and save the record")
        }
        if entries[checksum] == nil { entries[checksum] = try await store.ledger.entry(of: checksum) }
        guard let entry = entries[checksum] else {
            return report(
                .notEntered, asset.fileChecksum, use: recorded.use, "The record refers to a file that is not stored. Upload it and save the record")
        }
        if asset.size != entry.size {
            report(
                .changed, asset.fileChecksum, use: recorded.use,
                "The record's size of the file is \(asset.size) bytes, but the file has \(entry.size). Save the record with the asset as uploaded")
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
            let use = RecordedAsset(use: recorded.use, asset: Asset(fileChecksum: recorded.asset.fileChecksum, size: 0), isCounted: true)
            return seen.insert(use).inserted ? key(of: checksum) : nil
        }
    }

    private static func key(of checksum: FileChecksum) -> UInt64 {
        checksum.bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// Records may change during the verification, so mismatches are counted again. Only mismatches that stay the same are reported.
    private mutating func checkCounts(_ progress: Progress) async throws {
        var doubtful = try await entriesThatDisagree(progress)
        for _ in 0..<2 where !doubtful.isEmpty {
            let before = Dictionary(uniqueKeysWithValues: doubtful.map { ($0.checksum, counted[Self.key(of: $0.checksum)] ?? 0) })
            try await recount(doubtful, progress)
            var still: [AssetEntry] = []
            for entry in doubtful {
                let now = try await store.ledger.entry(of: entry.checksum)
                let count = counted[Self.key(of: entry.checksum)] ?? 0
                if let now, now.useCount == entry.useCount, count == before[entry.checksum], count != now.useCount { still.append(now) }
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
            try await tell(progress)
        }
    }

    private mutating func recount(_ entries: [AssetEntry], _ progress: Progress) async throws {
        let keys = Set(entries.map { Self.key(of: $0.checksum) })
        for key in keys { counted[key] = 0 }
        try await forEachAsset { verifier, assets in
            for key in Self.uses(assets) where keys.contains(key) { verifier.counted[key, default: 0] += 1 }
            try await verifier.tell(progress)
        }
    }
}

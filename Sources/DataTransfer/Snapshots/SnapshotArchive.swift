public import Foundation
internal import NIOCore
public import Records

/// A snapshot as one file to share: a tar archive of its folder.
public struct SnapshotArchive: Sendable {
    private static let chunkSize = 1 << 18

    private let snapshot: Snapshot
    private let files: [(path: String, size: Int64)]

    /// - Throws: ``SnapshotError`` if a file of the snapshot is missing.
    public init(_ snapshot: Snapshot) throws {
        self.snapshot = snapshot
        var names = [Snapshot.manifestFile] + snapshot.files + (snapshot.requests == nil ? [] : [Snapshot.requestsFile])
        // A snapshot without assets has no such folder.
        let assets =
            (try? FileManager.default.contentsOfDirectory(
                atPath: snapshot.url.appending(path: Snapshot.assetsFolder).path(percentEncoded: false))) ?? []
        names += assets.filter { FileChecksum($0) != nil }.sorted().map { "\(Snapshot.assetsFolder)/\($0)" }
        files = try names.map { name in
            do {
                return (name, try FileBytes(path: snapshot.url.appending(path: name).path(percentEncoded: false)).size)
            } catch {
                throw SnapshotError(.damaged, "The snapshot '\(snapshot.name)' is damaged: \(error)")
            }
        }
    }

    /// The name for the file. It is readable, and safe in every file system.
    public var fileName: String { "\(Snapshot.folderName(snapshot.name)).skylight.tar" }

    /// The size of the whole archive in bytes.
    public var size: Int64 {
        files.reduce(Int64(2 * TarHeader.blockSize)) { sum, file in
            sum + Int64(TarHeader.blockSize) + file.size + Int64(TarHeader(path: file.path, size: file.size).padding)
        }
    }

    /// - Parameter write: receives the bytes in order.
    /// - Throws: ``SnapshotError`` if a file cannot be read; errors of `write`.
    public func write(_ write: ([UInt8]) async throws -> Void) async throws {
        let folder = Snapshot.folderName(snapshot.name)
        for (name, size) in files {
            let header = TarHeader(path: "\(folder)/\(name)", size: size)
            try await write(header.block(modified: snapshot.saved.milliseconds / 1000))
            var count: Int64 = 0
            do {
                for try await part in try FileBytes(
                    path: snapshot.url.appending(path: name).path(percentEncoded: false))
                {
                    count += Int64(part.readableBytes)
                    try await write(Array(part.readableBytesView))
                }
            } catch let error as AssetFileError {
                throw SnapshotError(.damaged, "The snapshot '\(snapshot.name)' is damaged: \(error)")
            }
            guard count == size else {
                throw SnapshotError(
                    .damaged, "'\(name)' of the snapshot '\(snapshot.name)' was changed while it was read")
            }
            try await write([UInt8](repeating: 0, count: header.padding))
        }
        try await write([UInt8](repeating: 0, count: 2 * TarHeader.blockSize))
    }
}

extension SnapshotArchive {
    /// Reads the description of a shared snapshot.
    /// - Throws: ``SnapshotError`` if the file is not a shared snapshot.
    public static func describe(_ url: URL) throws -> (
        name: String, container: ContainerID, environment: Records.Environment
    ) {
        let folder = FileManager.default.temporaryDirectory.appending(
            path: "skylight-snapshot-\(UUID().uuidString)", directoryHint: .isDirectory)
        do { try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true) } catch {
            throw SnapshotError(
                .unwritable,
                "'\(url.relativePath)' can't be unpacked into the system's temporary folder; check its space and permissions"
            )
        }
        // Remaining files are in the system's folder for temporary files.
        defer { try? FileManager.default.removeItem(at: folder) }
        let (snapshot, _) = try reading(url, unpackedInto: folder, only: Snapshot.manifestFile)
        return (snapshot.name, snapshot.container, snapshot.environment)
    }

    /// Unpacks a shared snapshot and reads its description. Errors name files by their paths in the archive, because
    /// the folder is internal to the server.
    /// - Parameter wanted: the only file to unpack; `nil` to unpack and check all files.
    /// - Returns: the snapshot, and the names of the unpacked files.
    static func reading(_ archive: URL, unpackedInto folder: URL, only wanted: String? = nil) throws -> (
        Snapshot, files: [String]
    ) {
        do {
            let files = try unpack(archive, into: folder, only: wanted)
            let snapshot = try Snapshot(in: folder)
            // Every file must exist, and begin with the header of its database.
            if wanted == nil { _ = try SnapshotContent(snapshot) }
            return (snapshot, files)
        } catch let error as SnapshotError {
            let path = folder.path(percentEncoded: false)
            let there = path.hasSuffix("/") ? String(path.dropLast()) : path
            throw SnapshotError(error.kind, error.description.replacing(there, with: archive.relativePath))
        }
    }

    /// Unpacks the files of a snapshot. Paths in the archive cannot leave the folder. The files are not synced to disk,
    /// because they may turn out not to be a snapshot.
    /// - Parameter wanted: the only file to unpack; `nil` for all.
    /// - Returns: the names of the unpacked files.
    static func unpack(_ url: URL, into folder: URL, only wanted: String? = nil) throws -> [String] {
        let archive = url.relativePath
        let handle: FileHandle
        do { handle = try FileHandle(forReadingFrom: url) } catch {
            throw SnapshotError(.missing, "'\(archive)' can't be read: \(error.localizedDescription)")
        }
        defer { try? handle.close() }
        /// - Parameter member: the file in the archive that contains the bytes, for errors.
        func read(_ count: Int, of member: String? = nil) throws -> [UInt8] {
            var bytes: [UInt8] = []
            do {
                while bytes.count < count, let part = try handle.read(upToCount: count - bytes.count), !part.isEmpty {
                    bytes += part
                }
            } catch {
                throw SnapshotError(.damaged, "'\(archive)' can't be read: \(error.localizedDescription)")
            }
            guard bytes.count == count else {
                throw SnapshotError(
                    .damaged,
                    "'\(archive)' is a damaged archive: it ends \(member.map { "within '\($0)'" } ?? "too early")")
            }
            return bytes
        }
        var seen: Set<String> = []
        var unpacked: [String] = []
        while let header = try TarHeader(read(TarHeader.blockSize), in: archive) {
            let name = header.kind == .file ? try name(of: header.path, in: archive) : nil
            if let name, !seen.insert(name).inserted {
                throw SnapshotError(.damaged, "'\(archive)' is a damaged archive: it has '\(header.path)' twice")
            }
            let file: DraftFile?
            if let name, wanted.map({ $0 == name }) ?? true {
                let target = folder.appending(path: name)
                try FileManager.default.createDirectory(
                    at: target.deletingLastPathComponent(), withIntermediateDirectories: true)
                file = try DraftFile(target)
            } else {
                file = nil
            }
            var left = header.size
            while left > 0 {
                try Task.checkCancellation()
                let part = try read(Int(min(left, Int64(chunkSize))), of: header.path)
                try file?.write(part)
                left -= Int64(part.count)
            }
            _ = try read(header.padding, of: header.path)
            guard let name, let file else { continue }
            try file.close()
            unpacked.append(name)
            if wanted != nil { break }
        }
        return unpacked
    }

    /// The name of a file in the snapshot's folder. The archive may have been packed again, with or without a folder
    /// around the files.
    private static func name(of path: String, in archive: String) throws(SnapshotError) -> String {
        let parts = path.split(separator: "/").filter { $0 != "." }
        for count in [2, 1] where parts.count >= count {
            let name = parts.suffix(count).joined(separator: "/")
            let isAsset =
                count == 2 && parts[parts.count - 2] == Snapshot.assetsFolder
                && FileChecksum(parts[parts.count - 1]) != nil
            let isOther =
                count == 1
                && (name == Snapshot.manifestFile || name == Snapshot.requestsFile || Snapshot.isDatabaseFile(name))
            if isAsset || isOther { return name }
        }
        throw SnapshotError(
            .damaged, "'\(archive)' is no shared snapshot: it has the file '\(path)', which no snapshot has")
    }
}

extension SnapshotFolder {
    /// Adds a shared snapshot. If its name is taken, a number is added to it.
    /// - Throws: ``SnapshotError`` if the file is not a shared snapshot. Nothing is added then.
    public func add(_ archive: URL) async throws -> Snapshot {
        try await filling(archive.lastPathComponent) { draft in
            let (shared, files) = try SnapshotArchive.reading(archive, unpackedInto: draft.url)
            let name = freeName(shared.name)
            let snapshot = Snapshot(
                name: name, container: shared.container, environment: shared.environment, saved: shared.saved,
                records: shared.records, assets: shared.assets,
                files: shared.files, requests: shared.requests, url: place(of: name))
            try FileManager.default.removeItem(at: draft.url.appending(path: Snapshot.manifestFile))
            try draft.write(snapshot.manifest, to: Snapshot.manifestFile)
            try await draft.sync(files)
            return snapshot
        }
    }
}

// MARK: - Headers of tar

/// The block before a file in a tar archive, in the format of POSIX (ustar).
struct TarHeader {
    static let blockSize = 512
    /// Sizes from this one on need more than eleven octal digits.
    private static let octalLimit: Int64 = 1 << 33

    enum Kind {
        case file
        case folder
        /// Attributes of the next file, which snapshots do not need.
        case attributes
    }

    let path: String
    let size: Int64
    let kind: Kind

    init(path: String, size: Int64) {
        (self.path, self.size, kind) = (path, size, .file)
    }

    /// The number of padding bytes after a file's last block.
    var padding: Int { Int((Int64(Self.blockSize) - size % Int64(Self.blockSize)) % Int64(Self.blockSize)) }

    // MARK: Writing

    /// - Parameter modified: the modification time in seconds since 1970.
    func block(modified: Int64) -> [UInt8] {
        var block = [UInt8](repeating: 0, count: Self.blockSize)
        func put(_ bytes: some Sequence<UInt8>, at start: Int) {
            for (index, byte) in bytes.enumerated() { block[start + index] = byte }
        }
        func octal(_ number: Int64, _ digits: Int) -> [UInt8] {
            let text = String(number, radix: 8)
            return Array((String(repeating: "0", count: max(0, digits - text.utf8.count)) + text).utf8)
        }
        // The path has two parts: the folder of the snapshot, and the file in it.
        let parts = path.split(separator: "/", maxSplits: 1)
        put((parts.count > 1 ? parts[1] : parts[0]).utf8, at: 0)
        if parts.count > 1 { put(parts[0].utf8, at: 345) }
        put(octal(0o644, 7), at: 100)
        put(octal(0, 7), at: 108)
        put(octal(0, 7), at: 116)
        if size < Self.octalLimit {
            put(octal(size, 11), at: 124)
        } else {
            // The common extension for large files: a binary number, marked by its first bit.
            block[124] = 0x80
            for index in 0..<8 { block[128 + index] = UInt8(truncatingIfNeeded: size >> Int64(8 * (7 - index))) }
        }
        put(octal(max(0, modified), 11), at: 136)
        put("        ".utf8, at: 148)
        block[156] = UInt8(ascii: "0")
        put("ustar\u{0}00".utf8, at: 257)
        put(octal(Self.sum(block), 6) + [0, UInt8(ascii: " ")], at: 148)
        return block
    }

    private static func sum(_ block: [UInt8]) -> Int64 { block.reduce(0) { $0 + Int64($1) } }

    // MARK: Reading

    /// - Returns: `nil` for the empty block at the end.
    /// - Throws: ``SnapshotError`` if the block is not the header of a file.
    init?(_ block: [UInt8], in archive: String) throws(SnapshotError) {
        if block.allSatisfy({ $0 == 0 }) { return nil }
        func text(_ range: Range<Int>) -> String { String(decoding: block[range].prefix { $0 != 0 }, as: UTF8.self) }
        func number(_ range: Range<Int>) -> Int64? {
            if block[range.lowerBound] == 0x80 { return block[range].suffix(8).reduce(0) { $0 << 8 | Int64($1) } }
            return Int64(text(range).trimmingCharacters(in: .whitespaces), radix: 8)
        }
        var unsigned = block
        for index in 148..<156 { unsigned[index] = UInt8(ascii: " ") }
        guard let sum = number(148..<156), sum == Self.sum(unsigned), let size = number(124..<136), size >= 0 else {
            throw SnapshotError(.damaged, "'\(archive)' is no shared snapshot: it is no tar archive, or it is damaged")
        }
        let prefix = text(257..<262) == "ustar" ? text(345..<500) : ""
        path = prefix.isEmpty ? text(0..<100) : "\(prefix)/\(text(0..<100))"
        self.size = size
        switch block[156] {
        case UInt8(ascii: "0"), 0: kind = .file
        case UInt8(ascii: "5"): kind = .folder
        case UInt8(ascii: "x"), UInt8(ascii: "g"): kind = .attributes
        default:
            throw SnapshotError(
                .damaged, "'\(archive)' is no shared snapshot: '\(path)' in it is neither a file nor a folder")
        }
    }
}

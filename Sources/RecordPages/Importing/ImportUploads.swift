internal import Console
internal import DataTransfer
internal import Foundation
internal import HTTPServing
internal import RecordStore
internal import Records
internal import Synchronization

/// Uploaded files, kept from the preview to the import. They are private to the server and limited
/// in number. They expire after an hour, and the next upload or preview removes expired files.
final class ImportUploads: Sendable {
    struct Upload: Sendable {
        let id: String
        let fileName: String
        var format: FileFormat
        /// In bytes.
        let size: Int
        /// Its relative path is the file's name, which messages show.
        let url: URL
        /// The folder that contains only this file.
        fileprivate let place: URL
        fileprivate let kept: ContinuousClock.Instant
    }

    /// The size limit of a file in bytes. The command line imports larger ones.
    static let sizeLimit = Console.largestForm - (1 << 20)
    static let countLimit = 8
    private static let lifetime = Duration.seconds(3600)

    private struct State {
        var uploads: [Upload] = []
        /// The files whose imports have started, the latest last, with the ids of their runs.
        var begun: [(id: String, run: String)] = []
    }

    private let state = Mutex(State())
    private let folder = ScratchFolder(prefix: "skylight-imports-")

    /// Removes files of servers that were killed.
    func sweepLeftovers() {
        folder.later { $0.sweep() }
    }

    /// Stores a file.
    /// - Parameters:
    ///   - fileName: the name from the browser; empty for pasted text.
    ///   - format: `nil` to derive it from the file name, or else from the beginning of the text.
    /// - Throws: `RecordError` BAD_REQUEST if the file is empty or too large, INTERNAL_ERROR if it can't be written.
    func keep(_ bytes: [UInt8], fileName: String, format: FileFormat?) async throws -> Upload {
        if bytes.isEmpty { throw RecordError(.badRequest, "There is nothing to import: choose a file, or paste rows") }
        if bytes.count > Self.sizeLimit {
            throw RecordError(
                .badRequest,
                "The file is larger than \(Digits.bytes(Int64(Self.sizeLimit))): import it with 'skylight import', which takes files of any size"
            )
        }
        let name = Self.safe(fileName)
        let format = format ?? FileFormat(of: URL(filePath: name)) ?? Self.guess(bytes)
        let id = UUID().uuidString
        let (place, url) = try await WorkPool.prompt.run { [folder] in
            do {
                let place = try folder.url().appending(path: id, directoryHint: .isDirectory)
                let url = URL(filePath: name, relativeTo: place)
                try FileManager.default.createDirectory(
                    at: place, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
                try Data(bytes).write(to: url)
                return (place, url)
            } catch {
                throw RecordError.noTemporaryFile("The file was not read")
            }
        }
        let upload = Upload(
            id: id, fileName: name, format: format, size: bytes.count, url: url, place: place, kept: .now)
        state.withLock { $0.uploads.append(upload) }
        sweep()
        return upload
    }

    /// - Parameter format: the format to read the file as; `nil` for the detected one.
    /// - Throws: `RecordError` NOT_FOUND if the file has expired.
    func upload(_ id: String, as format: FileFormat?) throws -> Upload {
        sweep()
        guard var upload = state.withLock({ $0.uploads.first { Name($0.id) == Name(id) } }) else { throw Self.isGone }
        upload.format = format ?? upload.format
        return upload
    }

    private func sweep() {
        let old = state.withLock { state in
            let surplus = state.uploads.prefix(max(0, state.uploads.count - Self.countLimit))
            let old = surplus + state.uploads.dropFirst(surplus.count).filter { $0.kept < .now - Self.lifetime }
            let ids = Set(old.map(\.id))
            state.uploads.removeAll { ids.contains($0.id) }
            return old
        }
        for upload in old { discard(upload) }
    }

    // MARK: Imports

    /// Reserves a file for an import. It can be imported only once, and stays on disk until the run discards it.
    /// - Throws: `RecordError` NOT_FOUND if the file has expired, or another run has taken it.
    func take(_ upload: Upload, for run: String) throws {
        try state.withLock { state in
            guard let index = state.uploads.firstIndex(where: { $0.id == upload.id }) else { throw Self.isGone }
            state.uploads.remove(at: index)
            state.begun = state.begun.suffix(BackgroundRuns.keptLimit - 1) + [(upload.id, run)]
        }
    }

    /// Returns a file whose import could not start.
    func putBack(_ upload: Upload) {
        state.withLock { state in
            state.begun.removeAll { $0.id == upload.id }
            state.uploads.append(upload)
        }
        sweep()
    }

    /// The run that took a file. A second click leads to the same run.
    func run(importing id: String) -> String? {
        state.withLock { $0.begun.last { Name($0.id) == Name(id) }?.run }
    }

    private static var isGone: RecordError { RecordError(.notFound, "The file is no longer stored; choose it again") }

    /// Deletes a file that is no longer listed.
    func discard(_ upload: Upload) {
        let place = upload.place
        // If this fails, the removal of the parent folder deletes the file later.
        Task.detached(executorPreference: WorkPool.lengthy, priority: .low) {
            try? FileManager.default.removeItem(at: place)
        }
    }

    /// A file name that can't escape its folder.
    private static func safe(_ name: String) -> String {
        let last = name.split(whereSeparator: { $0 == "/" || $0 == "\\" }).last.map(String.init) ?? ""
        let scalars = last.unicodeScalars.filter { $0.value >= 0x20 && $0.value != 0x7F }.prefix(100)
        let safe = String(String.UnicodeScalarView(scalars))
        return safe.isEmpty || safe.hasPrefix(".") ? "pasted rows" : safe
    }

    /// The likely format of pasted rows.
    private static func guess(_ bytes: [UInt8]) -> FileFormat {
        let text = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? bytes.dropFirst(3) : bytes[...]
        switch text.first(where: { $0 > 0x20 }) {
        case UInt8(ascii: "["): return .json
        case UInt8(ascii: "{"): return .ndjson
        default:
            let header = text.prefix { $0 != UInt8(ascii: "\n") }
            return header.contains(UInt8(ascii: "\t")) && !header.contains(UInt8(ascii: ",")) ? .tsv : .csv
        }
    }
}

internal import DataTransfer
internal import Foundation
internal import HTTPServing
internal import JSON
internal import RecordStore
internal import Records
internal import Synchronization

/// Files that were sent to be imported, kept from the preview to the import. They are private to the server and few, and an hour later they
/// are of no use, and removed when the next file is sent or asked for.
final class ImportUploads: Sendable {
    struct Upload: Sendable {
        let id: String
        let fileName: String
        var format: FileFormat
        /// Bytes.
        let size: Int
        /// Its relative path is the file's name, which messages show.
        let url: URL
        /// The folder that holds it alone.
        fileprivate let place: URL
        fileprivate let kept: ContinuousClock.Instant
    }

    /// Bytes of a file; larger ones are imported with the command line.
    static let sizeLimit = 32 << 20
    static let countLimit = 8
    private static let lifetime = Duration.seconds(3600)

    private struct State {
        var uploads: [Upload] = []
        /// The files that were taken to be imported, the latest last, and the runs that do it.
        var begun: [(id: String, run: String)] = []
    }

    private let state = Mutex(State())
    private let folder = ScratchFolder(prefix: "skylight-imports-")

    /// Removes what servers left that were killed.
    func sweepLeftovers() {
        folder.later { $0.sweep() }
    }

    /// Keeps a file.
    /// - Parameters:
    ///   - fileName: as the browser says it, empty for pasted text.
    ///   - format: `nil` to go by the name, else by how the text begins.
    /// - Throws: `RecordError` BAD_REQUEST when it is empty or too large, INTERNAL_ERROR when it can't be written.
    func keep(_ bytes: [UInt8], fileName: String, format: FileFormat?) async throws -> Upload {
        if bytes.isEmpty { throw RecordError(.badRequest, "Choose a file, or paste rows: there is nothing to import yet") }
        if bytes.count > Self.sizeLimit {
            throw RecordError(
                .badRequest, "The file is larger than \(Digits.limit(Int64(Self.sizeLimit))): import it with 'skylight import', which takes files of any size")
        }
        let name = Self.safe(fileName)
        let format = format ?? FileFormat(of: URL(filePath: name)) ?? Self.guess(bytes)
        let id = UUID().uuidString
        let (place, url) = try await WorkPool.prompt.run { [folder] in
            do {
                let place = try folder.url().appending(path: id, directoryHint: .isDirectory)
                let url = URL(filePath: name, relativeTo: place)
                try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
                try Data(bytes).write(to: url)
                return (place, url)
            } catch {
                throw RecordError(.internalError, "The file can't be kept for the import: \(error.localizedDescription)")
            }
        }
        let upload = Upload(id: id, fileName: name, format: format, size: bytes.count, url: url, place: place, kept: .now)
        state.withLock { $0.uploads.append(upload) }
        sweep()
        return upload
    }

    /// - Parameter format: what it is to be read as; `nil` as it was kept.
    /// - Throws: `RecordError` NOT_FOUND when it was kept too long ago.
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

    /// Takes a file for the run that imports it: it is imported once, and stays until that run discards it.
    /// - Throws: `RecordError` NOT_FOUND when it is not kept any more, or another run has it.
    func take(_ upload: Upload, for run: String) throws {
        try state.withLock { state in
            guard let index = state.uploads.firstIndex(where: { $0.id == upload.id }) else { throw Self.isGone }
            state.uploads.remove(at: index)
            state.begun = state.begun.suffix(BackgroundRuns.keptLimit - 1) + [(upload.id, run)]
        }
    }

    /// Keeps a file again whose import could not begin.
    func putBack(_ upload: Upload) {
        state.withLock { state in
            state.begun.removeAll { $0.id == upload.id }
            state.uploads.append(upload)
        }
        sweep()
    }

    /// The run that took a file: a second click leads there too.
    func run(importing id: String) -> String? {
        state.withLock { $0.begun.last { Name($0.id) == Name(id) }?.run }
    }

    private static var isGone: RecordError { RecordError(.notFound, "The file is not kept any more; choose it again") }

    /// Removes a file that is in no list.
    func discard(_ upload: Upload) {
        let place = upload.place
        // What can't be removed now goes with the folder around it.
        Task.detached(executorPreference: WorkPool.lengthy, priority: .low) { try? FileManager.default.removeItem(at: place) }
    }

    /// A name that can't lead out of its folder.
    private static func safe(_ name: String) -> String {
        let last = name.split(whereSeparator: { $0 == "/" || $0 == "\\" }).last.map(String.init) ?? ""
        let scalars = last.unicodeScalars.filter { $0.value >= 0x20 && $0.value != 0x7F }.prefix(100)
        let safe = String(String.UnicodeScalarView(scalars))
        return safe.isEmpty || safe.hasPrefix(".") ? "pasted rows" : safe
    }

    /// What pasted rows look like.
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

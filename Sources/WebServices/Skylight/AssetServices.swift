internal import AssetStore
internal import HTTPServing
internal import HTTPTypes
internal import Hummingbird
internal import JSON
internal import RecordStore
internal import Records

/// A service for the files of a container's environment.
struct AssetService: Sendable {
    let method: HTTPRequest.Method
    let answer: @Sendable (AssetCall) async throws -> Response
}

/// A request for an asset service.
struct AssetCall: Sendable {
    let store: AssetStore
    let place: RequestAssets
    let request: Request
}

/// `assets/facts`: returns the properties of a stored file.
enum AssetFactsService {
    static func answer(_ call: AssetCall) async throws -> Response {
        let checksum = try RequestObject(parametersOf: call.request).fileChecksum()
        let facts = try await call.store.facts(of: checksum)
        let links = try await call.place.links()
        let text = checksum.description
        let asset = Asset(fileChecksum: text, size: facts.size)
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("fileChecksum", text)
            writer.member("size", facts.size)
            if let size = facts.compressedSize { writer.member("compressedSize", size) }
            writer.member("mediaType", facts.type.mediaType)
            writer.member("preview", facts.type.preview.rawValue)
            writer.member("useCount", Int64(facts.useCount))
            writer.member("downloadURL", links.downloadURL(of: asset, in: Name("\(text.prefix(8)).\(facts.type.fileExtension)")))
        }
        return .json(writer.bytes)
    }
}

/// `assets/sweep`: removes unused files, or lists them in a dry run, as lines of JSON.
enum AssetSweepService {
    /// The maximum grace time for unused files, in days: a hundred years.
    private static let longestGraceTime = 36_525

    static func answer(_ call: AssetCall) async throws -> Response {
        let bytes = try await call.request.receivedBytes()
        RequestNote.current?.received(bytes)
        let body = try await RequestObject.reading(bytes)
        let isDryRun = try body.bool("dryRun") ?? false
        let graceTime = try graceTime(in: body) ?? call.place.stores.graceTime
        let store = call.store
        let lines = ProgressLines<Void, AssetSweep>(subject: "sweep", start: (), running: { _, _ in }, finished: { $1.members(of: $0) })
        return lines.response { _ in try await store.sweep(graceTime: graceTime, dryRun: isDryRun) }
    }

    private static func graceTime(in body: RequestObject) throws -> Duration? {
        guard let seconds = try body.wholeNumber("graceSeconds", from: 0) else { return nil }
        guard seconds <= longestGraceTime * 86_400 else {
            throw RecordError.unexpectedInput(
                "Expected 'graceSeconds' to be at most \(longestGraceTime * 86_400), which is \(longestGraceTime) days, found \(seconds)")
        }
        return .seconds(seconds)
    }
}

extension JSONWriter {
    fileprivate mutating func members(of sweep: AssetSweep) {
        member("dryRun", sweep.isDryRun)
        name("removed")
        array { writer in
            for file in sweep.removed {
                writer.object { writer in
                    writer.member("name", file.name)
                    if let checksum = file.checksum { writer.member("fileChecksum", checksum.description) }
                    writer.member("bytes", file.bytes)
                }
            }
        }
        member("removedBytes", sweep.removedBytes)
        member("waiting", Int64(sweep.waiting))
    }
}

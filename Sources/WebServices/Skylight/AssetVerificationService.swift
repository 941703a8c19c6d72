internal import AssetStore
internal import Hummingbird
internal import JSON
internal import RecordStore
internal import Records

/// `assets/verify`: checks every file against its checksum and every reference
/// against the files. Reports its progress and the result as lines of JSON.
enum AssetVerificationService {
    static func answer(_ call: AssetCall) async throws -> Response {
        let store = call.store
        let lines = ProgressLines<AssetVerification, AssetVerification>(
            subject: "verification", start: AssetVerification(), running: { $1.members(of: $0) },
            finished: { verification, writer in
                writer.members(of: verification)
                writer.name("problems")
                writer.array { writer in
                    for problem in verification.problems { writer.value(problem) }
                }
            })
        return lines.response { report in try await store.verify { report($0) } }
    }
}

extension JSONWriter {
    /// The progress of a verification. It has the number of problems; only the last line lists them.
    fileprivate mutating func members(of verification: AssetVerification) {
        member("filesDone", Int64(verification.filesDone))
        member("filesTotal", Int64(verification.filesTotal))
        member("bytesDone", verification.bytesDone)
        member("bytesTotal", verification.bytesTotal)
        member("referencesDone", Int64(verification.referencesDone))
        member("unusedFiles", Int64(verification.unusedFiles))
        member("unusedBytes", verification.unusedBytes)
        member("problemCount", Int64(verification.problems.count))
    }

    fileprivate mutating func value(_ problem: AssetVerification.Problem) {
        object { writer in
            writer.member("problem", problem.kind.rawValue)
            writer.member("fileChecksum", problem.checksum)
            writer.member("explanation", problem.explanation)
            guard let use = problem.use else { return }
            writer.name("use")
            writer.value(use)
        }
    }
}

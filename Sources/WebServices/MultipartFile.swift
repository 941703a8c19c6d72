internal import HTTPServing
internal import NIOCore
internal import Records

/// Streams the bytes of the only file in a `multipart/form-data` body as they arrive.
///
/// The file is the part with a file name, or the part named `files`, the name that CloudKit's clients use. Other parts
/// are skipped.
struct MultipartFile<Base: AsyncSequence & Sendable>: AsyncSequence, Sendable where Base.Element == ByteBuffer {
    let base: Base
    let boundary: MultipartBoundary

    struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate var base: Base.AsyncIterator
        fileprivate var parser: MultipartParser
        fileprivate var hasFile = false
        fileprivate var isFile = false
        /// The size in bytes of the content of other parts so far.
        fileprivate var skipped = 0

        /// - Throws: `RecordError` BAD_REQUEST for a form that is malformed or incomplete, has no file or several, or
        ///   has too many bytes beside the file.
        mutating func next() async throws -> ByteBuffer? {
            while true {
                let element = try parser.next()
                guard parser.overhead + skipped <= AssetUploads.envelopeLimit else {
                    throw RecordError(
                        .badRequest,
                        "The multipart/form-data body has more than \(AssetUploads.envelopeLimit) bytes besides the file; send only the file"
                    )
                }
                switch element {
                case .part(let headers)?: try begin(headers)
                case .content(let bytes)?:
                    if isFile { return bytes }
                    skipped += bytes.readableBytes
                case .end?: continue
                case nil:
                    guard let bytes = try await base.next() else {
                        try finish()
                        return nil
                    }
                    parser.take(bytes)
                }
            }
        }

        private mutating func begin(_ headers: MultipartHeaders) throws {
            isFile = headers.fileName != nil || headers.disposition["filename*"] != nil || headers.name == "files"
            guard isFile else { return }
            guard ["", "binary", "8bit", "7bit"].contains(headers.transferEncoding) else {
                throw RecordError(
                    .badRequest,
                    "The file of the multipart/form-data body is in the transfer encoding '\(headers.transferEncoding.prefix(80))'; send its bytes unencoded"
                )
            }
            if hasFile {
                throw RecordError(
                    .badRequest,
                    "The multipart/form-data body has more than one file; send each file to its own address")
            }
            hasFile = true
        }

        private func finish() throws {
            try parser.finish()
            guard hasFile else {
                throw RecordError(
                    .badRequest,
                    "The multipart/form-data body has no file: expected a part with a file name, or with the name 'files'"
                )
            }
        }
    }

    func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(base: base.makeAsyncIterator(), parser: MultipartParser(boundary: boundary))
    }
}

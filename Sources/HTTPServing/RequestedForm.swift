internal import HTTPTypes
public import Hummingbird

/// The form in which a request wants a file that is kept twice: as it is, and compressed (RFC 9110, 12.5.3 and 14.2).
///
/// A range counts the bytes of one form. Clients that ask for a range mean the file's own bytes, even if they accept
/// gzip: most libraries accept it in every request, and only the answer would tell that the server counted other bytes.
/// A client that continues a compressed download says so with the entity tag of that form.
///
/// The answer also depends on `Range` and `If-Range` then. `Vary` does not name them: caches keep the parts of a file
/// by its entity tag, and both forms have their own.
public enum RequestedForm: Sendable, Equatable {
    /// The file as it is.
    case identity
    /// The compressed form, or the file as it is if there is none.
    case gzip
    /// The compressed form. The client refuses the file as it is (`identity;q=0`), so its ranges count compressed bytes too.
    case onlyGzip

    /// - Parameter compressedTag: the entity tag of the compressed form, without quotes.
    public init(_ request: Request, compressedTag: String) {
        let accepted = AcceptEncoding(request)
        if accepted.forbidsIdentity {
            self = .onlyGzip
        } else if !request.headers.contains(.range) {
            self = accepted.prefersGzip ? .gzip : .identity
        } else {
            // A range whose tag or date is not of the compressed form is answered with the file's own bytes: with the
            // range, or with all of them if the tag is outdated, the range is malformed, or there are several.
            let conditions = Preconditions(request, tag: "\"\(compressedTag)\"", lastModified: 0)
            self = accepted.quality(of: "gzip") > 0 && conditions.continuesDownload ? .gzip : .identity
        }
    }
}

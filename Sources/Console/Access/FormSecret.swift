internal import Accounts
internal import HTTPServing
internal import HTTPTypes
internal import Hummingbird
internal import Records

/// The secret of a session that goes with everything that a page of the console sends, so that no other page can send it: pages of other ports of
/// the same machine are of the same site, and the browser sends the cookie along.
///
/// It stands in a hidden field of every form that is posted, and in the head of the page for scripts.
enum FormSecret {
    /// The name of the hidden field. No page sees it among its fields.
    static let fieldName = "form-secret"

    /// What ``PageRenderer`` puts behind the tag of every form that is posted.
    static let field = "{{#\(templateName)}}<input type=\"hidden\" name=\"\(fieldName)\" value=\"{{.}}\">{{/\(templateName)}}"
    /// What the secret is called in templates.
    static let templateName = "formSecret"

    /// Puts the field behind the tag of every form of a template that is posted.
    static func addingField(to template: String) -> String {
        var written: [UInt8] = []
        var rest = Array(template.utf8)[...]
        while let start = rest.firstRange(of: Array("<form".utf8))?.lowerBound, let end = endOfTag(rest[start...]) {
            let tag = rest[start...end]
            written += rest[rest.startIndex...end]
            if tag.contains(Array("method=\"post\"".utf8)) { written += Array(field.utf8) }
            rest = rest[(end + 1)...]
        }
        return String(decoding: written + rest, as: UTF8.self)
    }

    /// Where the tag ends that the text begins with. What stands between braces is Mustache's.
    private static func endOfTag(_ text: ArraySlice<UInt8>) -> Int? {
        var depth = 0
        for index in text.indices {
            switch text[index] {
            case UInt8(ascii: "{"): depth += 1
            case UInt8(ascii: "}"): depth -= 1
            case UInt8(ascii: ">") where depth == 0: return index
            default: break
            }
        }
        return nil
    }

    /// Lets through what brings the secret of its session, in the header or in the form. The form is read for it, and can be read again.
    /// - Throws: `RecordError` ACCESS_DENIED when it is missing or another session's.
    static func check(_ request: inout Request, of session: ConsoleSession, by access: AccessControl) async throws {
        if access.bringsSecret(of: session, request) { return }
        let bytes = try await request.bodyBytes(limit: Console.largestForm)
        let contentType = request.headers[.contentType]
        let secret = try await WorkPool.prompt.run(on: bytes.count) { value(in: bytes, contentType) }
        guard let secret, access.isSecret(secret, of: session) else {
            throw RecordError(
                .accessDenied,
                "The form is not from a page of this session, and nothing was changed. The page may be older than your last sign-in: load it again")
        }
        request.replaceBody(with: bytes)
    }

    private static func value(in bytes: [UInt8], _ contentType: String?) -> String? {
        guard let boundary = MultipartForm.boundary(in: contentType) else { return FormFields.secret(encoded: bytes) }
        return MultipartForm(bytes, boundary: boundary).parts.first { $0.name == fieldName }.map { String(decoding: $0.bytes, as: UTF8.self) }
    }
}

internal import Accounts
internal import Foundation
internal import HTTPServing
internal import HTTPTypes
internal import Hummingbird
internal import Records

/// The secret that a page of the console sends with every form and script request of its session. It protects against
/// request forgery: pages on other ports of the same machine belong to the same site, so the browser sends the session
/// cookie for them too.
///
/// A hidden field of every POST form holds it. The head of the page holds it for scripts.
enum FormSecret {
    /// The name of the hidden field. Pages do not see it among their form fields.
    static let fieldName = "form-secret"

    /// The markup that ``PageRenderer`` adds after the tag of every POST form.
    static let field =
        "{{#\(templateName)}}<input type=\"hidden\" name=\"\(fieldName)\" value=\"{{.}}\">{{/\(templateName)}}"
    /// The name of the secret in templates.
    static let templateName = "formSecret"

    private static let opening = Array("<form".utf8)

    /// Adds the field after the tag of every POST form of a template.
    static func addingField(to template: [UInt8]) -> [UInt8] {
        var written: [UInt8] = []
        var rest = template[...]
        // Searches byte by byte, because a search for a part of a collection is not compiled for bytes.
        while let start = rest.indices.first(where: { rest[$0] == opening[0] && rest[$0...].starts(with: opening) }),
            let end = endOfTag(rest[start...])
        {
            let tag = rest[start...end]
            written += rest[rest.startIndex...end]
            if tag.contains(Array("method=\"post\"".utf8)) { written += Array(field.utf8) }
            rest = rest[(end + 1)...]
        }
        return written + rest
    }

    /// The end of the tag at the start of the text. Skips Mustache expressions in braces.
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

    /// Checks that the request carries the secret of its session, in the header or in the form. Reads the form and
    /// leaves it readable for the route.
    /// - Throws: `RecordError` ACCESS_DENIED if the secret is missing or belongs to another session.
    static func check(_ request: inout Request, of session: ConsoleSession, by access: AccessControl) async throws {
        if access.bringsSecret(of: session, request) { return }
        let bytes = try await request.bodyBytes(limit: Console.largestForm)
        let contentType = request.headers[.contentType]
        let secret = try await WorkPool.prompt.run(on: bytes.count) { value(in: bytes, contentType) }
        guard let secret, access.isSecret(secret, of: session) else {
            throw RecordError(
                .accessDenied,
                "The form is not from this session. Nothing was changed. The page may be older than your last sign-in: load it again"
            )
        }
        request.replaceBody(with: bytes)
    }

    private static func value(in bytes: [UInt8], _ contentType: String?) -> String? {
        guard let form = MultipartForm(bytes, contentType: contentType) else {
            return FormFields.secret(encoded: bytes)
        }
        return form.parts.first { $0.name == fieldName }?.text
    }
}

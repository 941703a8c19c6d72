/// The addresses of the administrator's sign-in, and the pages to which it may redirect.
enum SignInPath {
    static let page = "/admin/sign-in"
    static let signOut = "/admin/sign-out"

    /// The address of the sign-in page that continues to a page of the console.
    static func address(next: String?) -> String {
        guard let next = local(next), next != "/" else { return page }
        return FormFields.url(page, [(name: "next", value: next)])
    }

    /// The text if it is a path on this server that no browser reads as another host. `nil` for anything else, and for the sign-in itself.
    static func local(_ text: String?) -> String? {
        guard let text, text.utf8.count <= 4096, text.hasPrefix("/"), !text.hasPrefix("//"), !text.hasPrefix("/admin/"),
            text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\\") })
        else { return nil }
        return text
    }

    /// The path of a page, from an absolute URL.
    static func path(ofPage page: String?) -> String? {
        guard let page, let scheme = page.firstRange(of: "://") else { return nil }
        let rest = page[scheme.upperBound...]
        return rest.firstIndex(of: "/").map { String(rest[$0...]) }
    }
}

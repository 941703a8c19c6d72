internal import Console
internal import Records
internal import Text

/// The link of a share. It leads to the page that shows the invitation.
struct ShareLink: ViewModel {
    static let path = "/share"

    /// Within this server.
    let href: String
    /// With the address by which the browser knows the server.
    let text: String
    /// The right of everybody with the link.
    let right: String

    init(_ share: Share, title: String, server: String) {
        href = "\(Self.path)/\(PercentEncoding.encoded(share.shortGUID))#\(PercentEncoding.encoded(title))"
        text = server + href
        right = share.linkRight
    }
}

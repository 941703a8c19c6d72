/// A record as a link: its title with the name beside it, or the name alone. The template `record_name` writes both.
package struct RecordLink: ViewModel {
    package let href: String
    package let recordName: String
    package let title: String?

    package init(href: String, recordName: String, title: String?) {
        (self.href, self.recordName, self.title) = (href, recordName, title)
    }
}

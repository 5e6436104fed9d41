package snip

// Dimension is something that is told of every click, and by which clicks can be
// counted apart. Their numbers are stored: new ones go to the end.
type Dimension uint8

const (
	ByClass Dimension = iota
	ByReferrer
	ByMedium
	ByBrowser
	ByOS
	ByDevice
	ByLanguage
	ByCountry
	ByRegion
	ByCampaign
	ByAlias
	ByArm
	NumDimensions // How many there are.
)

// String returns its name in the API.
func (d Dimension) String() string {
	return [...]string{
		"class", "referrer", "medium", "browser", "os", "device", "language", "country", "region", "campaign", "alias", "arm", "?",
	}[min(d, NumDimensions)]
}

// Value returns what is told of a click in one dimension.
func (c *Click) Value(d Dimension) string {
	switch d {
	case ByClass:
		return c.Class.String()
	case ByReferrer:
		return c.Referrer
	case ByMedium:
		return c.Medium
	case ByBrowser:
		return c.Browser
	case ByOS:
		return c.OS
	case ByDevice:
		return c.Device
	case ByLanguage:
		return c.Language
	case ByCountry:
		return c.Country
	case ByRegion:
		return c.Region
	case ByCampaign:
		return c.Campaign
	case ByAlias:
		return c.Alias
	case ByArm:
		return c.Arm
	}
	return Unknown.String()
}

// The system's fonts, and what fits tables and code into small screens.

import theme from 'vitepress/theme-without-fonts'
import './style.css'

export default theme
